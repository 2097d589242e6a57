"""The ``web`` tools: ``search`` through a provider, and ``visit``, which shows a page as clean text.

A page's address comes from a model, and what stands behind it from a stranger. So every connection goes through ``guard``
and ``network``, every body through ``fetch``, every text through ``visible``.
"""
