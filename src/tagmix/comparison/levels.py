"""What a method shows when it is asked for a precision."""

from dataclasses import dataclass

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9)  # precisions that are asked of probabilities


@dataclass(frozen=True)
class Level:
    """What a method shows when ``asked`` for a precision.

    The number of tags ``shown``, the sum of their probabilities (``expected``), how many are ``right``, and
    the number of pictures with ``none``.
    """

    asked: float
    shown: int
    expected: float
    right: int
    none: int

    def fits(self, n_pictures: int, given: int) -> bool:
        """Return whether the numbers are possible for this many pictures with this many tags in all."""
        counts = (self.shown, self.right, self.none)
        whole = all(type(count) is int and count >= 0 for count in counts)
        real = type(self.asked) is float and type(self.expected) is float
        return (
            whole and real and 0 < self.asked < 1 and 0 <= self.expected <= self.shown * (1 + 1e-9)
            and self.right <= min(self.shown, given) and self.none <= n_pictures
        )  # fmt: skip
