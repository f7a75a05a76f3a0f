"""How good predictions are: one function a metric."""
