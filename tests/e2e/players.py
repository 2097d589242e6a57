"""A module for the command's tests: ``inherit`` with a scripted model that speaks as meta-model, as judge and as every node."""

PLAYERS = '''
import json
import os
import re
import signal
from pathlib import Path

from motet.inherit.system import Inherit
from motet.models.scripted import ScriptedModel

TEAM = [
    {"id": "find", "role": "worker", "subtask": "Find it.", "prompt": "Be exact."},
    {"id": "check", "role": "critic", "subtask": "Check it.", "prompt": "Be strict.", "inputs": ["find"]},
    {"id": "answer", "role": "integrator", "subtask": "Answer.", "prompt": "Be brief.", "inputs": ["find", "check"]},
]


def play(request):
    """The design, then a sharper prompt for the answer, then nothing of use; the sharper answer is the better one."""
    system, asked = request.messages[0].content, request.messages[-1].content
    if system.startswith("You design and improve"):
        found = re.search(r"^other prompt of [^:]*: (.*)$", asked, re.MULTILINE)
        if found is None:
            return json.dumps({"nodes": TEAM}) if "cannot be used" not in asked else "no"
        if "Be sharper" in asked:
            return "no"
        number = re.search(r"(\\d+) answer", found[1])[1]
        return json.dumps({"choice": int(number), "prompt": "Be sharper."})
    if system.startswith("You judge the work"):
        mark = 80 if "Be sharper" in asked else 40
        if mark == 80 and Path("die").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        marks = ("quality_score", "completion_likelihood", "requirement_coverage", "artifact_grounding")
        return json.dumps({**dict.fromkeys(marks, mark), "critique": "Could be sharper.", "keep": [], "fix": []})
    if "Be sharper" in system:
        return "forty voices"
    return "some voices" if "Be brief" in system else "It has voices."


class Players(Inherit):
    model: object = ScriptedModel("players", play)
    restart: str = "never"
'''
