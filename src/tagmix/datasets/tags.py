"""From captions and keywords to tags.

Keywords are kept unchanged, in any language. Captions are sentences: a simple tokenizer splits them into
words, without stemming. The stop words are English; captions in other languages keep theirs unless you pass a
list. Scripts without spaces (Chinese, Thai) are not split: use keywords for them.
"""

import re
import unicodedata
from collections.abc import Collection
from itertools import groupby

from tagmix.tag_names import LONGEST, normal_names

MIN_LETTERS = 2
_ENGLISH = """
    a about above after again all along am among an and another any are around as at away be because been
    before behind being below beside between both but by can could did do does doing down during each
    either few for from front had has have having he her here hers him his how i if in inside into is it
    its itself just many me more most much my near next no nor not of off on one onto or other our out
    outside over own same she should so some such than that the their them then there these they this
    those through to together too toward towards two under until up upon very was we were what when where
    which while who whom whose why will with within without would you your
"""
STOP_WORDS = frozenset(_ENGLISH.split())


def listed(text: str, separators: str = ";|,\n") -> tuple[str, ...]:
    """Return the keywords of a text with separators.

    >>> listed("sky; sea|sky")
    ('sky', 'sea')
    """
    return normal_names(re.split(f"[{re.escape(separators)}]", text))


def words(
    caption: str, *, stop: Collection[str] = STOP_WORDS, min_letters: int = MIN_LETTERS
) -> tuple[str, ...]:
    """Return the distinct words of a caption: runs of letters, case-folded, without stop words.

    >>> words("A small dog and the Café's red boat, 2 boats")
    ('small', 'dog', 'café', 'red', 'boat', 'boats')
    """
    text = unicodedata.normalize("NFC", caption.replace("'s", "").replace("’s", ""))
    runs = ("".join(run) for letters, run in groupby(text, _letter) if letters)
    folded = (unicodedata.normalize("NFC", run.casefold()) for run in runs)
    kept = (word for word in folded if min_letters <= len(word) <= LONGEST and word not in stop)
    return tuple(dict.fromkeys(kept))


def _letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LM"  # marks as well: vowels of Hindi are marks
