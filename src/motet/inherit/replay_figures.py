"""What a replay check found, as a value, and as the text that is printed."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from motet.inherit.edits import KINDS, Kind
from motet.value import Value

# Run everything, and again; what the store has is not done again; and what an edit did not reach is not even looked for.
ArmName: TypeAlias = Literal["full", "again", "store", "localised"]
ARMS: tuple[ArmName, ...] = get_args(ArmName)

PAPER = 0.177  # share of the tokens that the paper's check spent, with Qwen3-14B on LiveCodeBench

_TITLES: dict[ArmName, str] = {
    "full": "run everything",
    "again": "run everything again",
    "store": "store only",
    "localised": "localised + store",
}


class Arm(Value):
    """One arm: what it did, and ``sha256`` over all node outputs.

    ``ran`` and ``reused`` count nodes; ``keys`` the distinct record keys, and ``recorded`` the tokens that the records under them say they cost. Arms without records have none.
    """

    name: ArmName
    ran: int = 0
    reused: int = 0
    tokens: int = 0
    keys: int | None = None
    recorded: int | None = None
    sha256: str = ""


class Saving(Value):
    """Executions after edits of one ``kind``, or after any (``None``): tokens of each arm, and how many of the nodes the edits could reach."""

    kind: Kind | None
    edits: int = 0
    full: int = 0
    store: int = 0
    localised: int = 0
    nodes: int = 0
    affected: int = 0

    def __add__(self, other: Saving) -> Saving:
        sums = ("edits", "full", "store", "localised", "nodes", "affected")
        return self.model_copy(update={name: getattr(self, name) + getattr(other, name) for name in sums})


class TaskHashes(Value):
    """A task with the edits made, how many node outputs were compared, how many different ``texts`` they were, and their SHA-256 in each arm."""

    task: str
    edits: tuple[Kind, ...]
    outputs: int
    texts: int
    sha256: dict[ArmName, str]


class ReplayCheck(Value):
    """What a replay check found. ``problems`` says which equality does not hold, a line for each; without any, all do.

    ``surprises`` counts nodes that no edit could reach and whose key differed all the same; ``model`` is the identity of the model.
    """

    version: Literal[1] = 1
    model: str
    seed: int
    wanted: int
    tasks: tuple[TaskHashes, ...] = ()
    arms: tuple[Arm, ...] = ()
    kinds: tuple[Saving, ...] = ()
    surprises: int = 0
    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every equality holds."""
        return not self.problems

    @property
    def edits(self) -> Saving:
        """All executions after edits."""
        return sum(self.kinds, Saving(kind=None))

    def arm(self, name: ArmName) -> Arm:
        """The arm called ``name``."""
        return next(arm for arm in self.arms if arm.name == name)

    def text(self) -> str:
        """The check for people, in lines of at most 100 characters where names are short."""
        edits = sum(len(task.edits) for task in self.tasks)
        outputs, texts = (sum(getattr(task, name) for task in self.tasks) for name in ("outputs", "texts"))
        lines = [
            f"replay check of {len(self.tasks)} tasks of {self.wanted} with {edits} edits in all (seed {self.seed})",
            f"model: {self.model}",
            f"{outputs} node outputs in each arm, {texts} different texts within their tasks",
            "",
            *self._arm_lines(),
            "",
            *self._saving_lines(),
            "",
            *self._hash_lines(),
            "",
        ]
        if self.ok:
            held = "holds: outputs byte-identical in all arms; tokens the sum over distinct keys; no surprises"
            return "\n".join([*lines, held])
        return "\n".join([*lines, *(f"does not hold: {problem}" for problem in self.problems)])

    def _arm_lines(self) -> list[str]:
        rows = [f"{'arm':<21}{'ran':>7}{'reused':>8}{'tokens':>10}{'keys':>7}{'by records':>12}"]
        for arm in self.arms:
            keys = "" if arm.keys is None else f"{arm.keys:,}"
            recorded = "" if arm.recorded is None else f"{arm.recorded:,}"
            rows.append(f"{_TITLES[arm.name]:<21}{arm.ran:>7,}{arm.reused:>8,}{arm.tokens:>10,}{keys:>7}{recorded:>12}")
        return [*rows, f"surprises: {self.surprises}"]

    def _saving_lines(self) -> list[str]:
        head = (
            f"{'after an edit of':<21}{'edits':>7}{'full':>10}{'store':>9}{'localised':>11}{'live':>8}{'affected':>10}"
        )
        rows = [head, *(self._saving_line(saving) for saving in (*self.kinds, self.edits))]
        full, local = self.arm("full").tokens, self.arm("localised").tokens
        store, live = self.arm("store").tokens, _percent(local, full)
        rows.append(f"{'with the first ones':<21}{'':>7}{full:>10,}{store:>9,}{local:>11,}{live:>8}")
        missing = [kind for kind in KINDS if kind not in {saving.kind for saving in self.kinds}]
        if missing:
            rows.append(f"not drawn: {', '.join(missing)}")
        rows += [
            f"live: localised / full. The paper: {PAPER:.1%}, with Qwen3-14B on LiveCodeBench; its tasks, model",
            "and edits are others, so the two say the same only in kind.",
        ]
        return rows

    def _saving_line(self, saving: Saving) -> str:
        live, affected = _percent(saving.localised, saving.full), _percent(saving.affected, saving.nodes)
        tokens = f"{saving.full:>10,}{saving.store:>9,}{saving.localised:>11,}"
        return f"{saving.kind or 'any kind':<21}{saving.edits:>7,}{tokens}{live:>8}{affected:>10}"

    def _hash_lines(self) -> list[str]:
        rows = ["SHA-256 over the node outputs"]
        for task in self.tasks:
            shown = dict.fromkeys(task.sha256.values())
            one = f"{next(iter(shown))[:16]} in all arms" if len(shown) == 1 else ""
            each = one or "  ".join(f"{name} {found[:16]}" for name, found in task.sha256.items())
            rows.append(f"  {task.task[:40]:<41}{task.outputs:>4}  {each}")
        return [*rows, *(f"  all, {_TITLES[arm.name]:<21}{arm.sha256}" for arm in self.arms)]


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "–"
