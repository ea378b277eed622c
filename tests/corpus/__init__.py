"""A labelled corpus: runs that fail in known ways and runs that do not, in many layouts, seeded.

`python tests/corpus/measure.py` prints how well the detectors do on it.
"""
