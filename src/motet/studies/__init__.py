"""Studies: questions about systems that one or more benches answer, each with tables, plots, seeds and intervals.

A study is named in ``catalogue``, and is a module of its own beside it; ``study`` says what one consists of, ``findings`` what comes out of it.
"""
