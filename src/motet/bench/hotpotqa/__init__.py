"""HotpotQA (Yang et al., EMNLP 2018): questions over two Wikipedia paragraphs, with the sentences that support the answer."""

from motet.bench.hotpotqa.benchmark import HotpotQA

__all__ = ["HotpotQA"]
