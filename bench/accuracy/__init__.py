"""Accuracy and calibration beside other systems: ``python -m bench.accuracy --data DIR``."""
