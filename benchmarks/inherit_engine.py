"""What the engine of workflows costs per node, beside LangGraph on the same graphs; and what an edit costs with inheritance and without.

    python -m benchmarks.inherit_engine [--nodes 500] [--rounds 5]

Every node asks the same model once, which answers at once. *Wide*: all nodes side by side, and one that reads them all. *Deep*: each reads the one before it. In a
round each arm works once, and the order turns from round to round. Only the execution is timed, not what is made before it: a run and its systems here, the
compiled graph there.

- no model: nodes that answer without asking anybody, store off: the engine alone.
- store off: Motet has no mode without a journal, so this is the journal on a file system in memory (/dev/shm, where there is one), and no records.
- journal on disk: the same on disk, synced before a reply is used.
- store on: with records too: each node is looked up, in vain, and recorded.
- inherited: the same once more, and every node is found.
- langgraph: ``StateGraph`` with a node function for each node, the same model, and the outputs in one dictionary with a reducer; nothing is kept.
- langgraph, saver: with its ``AsyncSqliteSaver`` on disk and ``durability="sync"``, which like Motet goes on when what was done is stored. It
  stores each step of the graph, where Motet's journal stores each reply; so it is told beside the journal on disk.

Edits: a graph of 10 layers of 5 nodes and one that reads the last layer, each reading two nodes of the layer before, with a model that takes 50 ms. The prompt
of one node is changed, in every second layer once, and the graph is executed after each change: all of it, or with what the unchanged graph left. LangGraph's cache of nodes
is left out: it knows a node by its input alone, and would hand on what was there before the change.

Nothing here waits for a network, so on a machine with nothing else to do a node takes about as long as its processor time, all threads of the process together; on a busy
one the clock tells of the neighbours. Exits with 1 when a node costs 1 ms of processor time or more with the store off, in the least of the rounds, or when inherited
executions are no faster or give other outputs. LangGraph's figures are told, not judged: it keeps other things.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph

import motet
from benchmarks.common import parser, publish, table
from motet.inherit import Node, Workflow, named_roles
from motet.inherit.engine import execute
from motet.inherit.execution import Execution
from motet.inherit.records import Records
from motet.models.model import Message, ModelInfo, Observer, Reply, Request, Sampling
from motet.runs.run import Run
from motet.store.store import Store
from motet.system import Configured, ModelRef, Needs
from motet.usage import Usage

QUESTION = "What do the entries add up to?"
LAYERS, WIDTH, SECONDS = 10, 5, 0.05
ROLES = named_roles("general").model_copy(update={"max_nodes": 10_000, "max_edges": 100_000})
GREEDY = Sampling(temperature=0)


class Instant:
    """A model that answers every request in its own way, after ``seconds``. Counts what it is asked."""

    info = ModelInfo(name="instant", identity="scripted:instant@1", provider="scripted", scripted=True)

    def __init__(self, seconds: float = 0.0) -> None:
        self.asked = 0
        self._seconds = seconds

    async def reply(self, request: Request, *, observer: Observer | None = None) -> Reply:
        """A text that depends on all that was asked."""
        self.asked += 1
        if self._seconds:
            await asyncio.sleep(self._seconds)
        told = "\n".join(message.content for message in request.messages)
        return Reply(
            text=f"answer {hashlib.sha256(told.encode()).hexdigest()[:16]}", usage=Usage(prompt=100, completion=10)
        )


def request_for(instructions: str, asked: str) -> Request:
    """What a node asks the model."""
    messages = (Message(role="system", content=instructions), Message(role="user", content=asked))
    return Request(messages=messages, max_tokens=100, sampling=GREEDY)


class Asks(Configured):
    """A node that asks its model once."""

    model: ModelRef
    instructions: str
    sampling: Sampling = GREEDY

    @property
    def name(self) -> str:
        """``asks``."""
        return "asks"

    def needs(self) -> Needs:
        """The model."""
        return Needs(models=(self.model,))

    async def solve(self, task: motet.Task, *, run: Run) -> motet.Result:
        """The model's answer."""
        reply = await run.model(self.model, role="agent").reply(request_for(self.instructions, task.question))
        return motet.Result(status="completed", answer=reply.text)


class Knows(Configured):
    """A node that asks nobody."""

    instructions: str

    @property
    def name(self) -> str:
        """``knows``."""
        return "knows"

    async def solve(self, task: motet.Task, *, run: Run) -> motet.Result:
        """Always the same answer."""
        return motet.Result(status="completed", answer="42")


class Cost(NamedTuple):
    """Seconds on the clock and of processor time, all threads of this process together."""

    seconds: float
    cpu: float


async def timed(work: Awaitable[Any]) -> tuple[Cost, Any]:
    """Await ``work``."""
    gc.collect()
    gc.freeze()  # What all arms together have imported is not walked through again in each.
    start, used = time.perf_counter(), time.process_time()
    value = await work
    return Cost(time.perf_counter() - start, time.process_time() - used), value


# Graphs


def node(id_: str, *inputs: str, role: str = "worker") -> Node:
    """A node that reads ``inputs``."""
    return Node(id=id_, role=role, subtask=f"Look at part {id_}.", prompt=f"You are {id_}. Be brief.", inputs=inputs)


def wide(nodes: int) -> Workflow:
    """``nodes`` - 1 side by side, and one that reads them all."""
    workers = [node(f"n{number}") for number in range(nodes - 1)]
    return Workflow(nodes=(*workers, node("last", *(worker.id for worker in workers), role="integrator")))


def deep(nodes: int) -> Workflow:
    """One after the other."""
    workers = [node(f"n{number}", *([f"n{number - 1}"] if number else [])) for number in range(nodes - 1)]
    return Workflow(nodes=(*workers, node("last", workers[-1].id, role="integrator")))


def layered() -> Workflow:
    """Layers in which each node reads two of the layer before."""
    workers = [
        node(f"n{layer}_{place}", *(f"n{layer - 1}_{(place + step) % WIDTH}" for step in range(2) if layer))
        for layer in range(LAYERS)
        for place in range(WIDTH)
    ]
    last = [worker.id for worker in workers[-WIDTH:]]
    return Workflow(nodes=(*workers, node("last", *last, role="integrator")))


def edited(workflow: Workflow, id_: str) -> Workflow:
    """``workflow`` with another prompt in one node."""
    changed = workflow.by_id[id_].model_copy(update={"prompt": f"You are {id_}. Be thorough."})
    return Workflow(nodes=tuple(changed if old.id == id_ else old for old in workflow.nodes))


# The arms


async def with_motet(
    workflow: Workflow,
    *,
    store: Store,
    namespace: str = "",
    model: Instant | None = None,
    parent: Execution | None = None,
) -> tuple[Cost, Execution]:
    """One execution in a run of its own; without a ``namespace`` there are no records, and without a ``model`` nodes ask nobody."""
    found: list[tuple[Cost, Execution]] = []

    def worker(_node: Node, instructions: str) -> Asks | Knows:
        return Knows(instructions=instructions) if model is None else Asks(model=model, instructions=instructions)

    class Engine:
        name = "engine"

        async def solve(self, task: motet.Task, *, run: Run) -> motet.Result:
            records = Records(store, namespace) if namespace else None
            cost, execution = await timed(
                execute(
                    workflow,
                    motet.Task(question=QUESTION),
                    run=run,
                    worker=worker,
                    roles=ROLES,
                    records=records,
                    parent=parent,
                )
            )
            found.append((cost, execution))
            return motet.Result(status="completed", answer=execution.output)

    result = await motet.solve(QUESTION, system=Engine(), store=store)
    if not found or found[0][1].output is None:
        raise SystemExit(f"the execution failed: {result.error or found[0][1].errors[0].failure}")
    return found[0]


class State(TypedDict):
    """LangGraph's state: what each node gave."""

    outputs: Annotated[dict[str, str], lambda old, new: {**old, **new}]


def langgraph(workflow: Workflow, model: Instant) -> StateGraph[State, None, State, State]:
    """``workflow`` as LangGraph has it."""
    graph = StateGraph(State)

    def function(node: Node) -> Any:
        instructions = ROLES.instructions(node)

        async def work(state: State) -> dict[str, dict[str, str]]:
            read = "\n\n".join(f"{id_}:\n{state['outputs'][id_]}" for id_ in node.inputs)
            reply = await model.reply(request_for(instructions, f"{QUESTION}\n\n{node.subtask}\n\n{read}"))
            return {"outputs": {node.id: reply.text}}

        return work

    for id_ in workflow.order:
        one = workflow.by_id[id_]
        graph.add_node(id_, function(one))
        graph.add_edge([*one.inputs] if one.inputs else START, id_)
    return graph


async def with_langgraph(workflow: Workflow, *, model: Instant, file: Path | None = None) -> Cost:
    """One execution, with a saver where there is a ``file``."""
    graph = langgraph(workflow, model)
    options: Any = {
        "input": {"outputs": {}},
        "config": {"recursion_limit": len(workflow.nodes) + 10, "configurable": {"thread_id": str(time.time())}},
    }
    if file is None:
        cost, state = await timed(graph.compile().ainvoke(**options))
    else:
        async with AsyncSqliteSaver.from_conn_string(str(file)) as saver:
            await saver.setup()
            compiled = graph.compile(checkpointer=saver)
            cost, state = await timed(compiled.ainvoke(**options, durability="sync"))
    assert len(state["outputs"]) == len(workflow.nodes), "langgraph did not work on every node"
    return cost


async def compare(workflow: Workflow, *, rounds: int, disk: Store, memory: Store) -> dict[str, list[Cost]]:
    """All arms on one graph in turn, ``rounds`` times after one round that does not count."""
    found: defaultdict[str, list[Cost]] = defaultdict(list)
    model = Instant()
    folder = Path(str(disk.url.database)).parent
    for number in range(rounds + 1):
        name = f"{workflow.hash}{number}"

        async def twice(name: str = name) -> Cost:
            await with_motet(workflow, store=disk, namespace=f"2{name}", model=model)
            before = model.asked
            cost, _ = await with_motet(workflow, store=disk, namespace=f"2{name}", model=model)
            assert model.asked == before, "something was not inherited"
            return cost

        async def once(name: str = name) -> Cost:
            return (await with_motet(workflow, store=disk, namespace=f"1{name}", model=model))[0]

        async def journal() -> Cost:
            return (await with_motet(workflow, store=disk, model=model))[0]

        async def off() -> Cost:
            return (await with_motet(workflow, store=memory, model=model))[0]

        async def alone() -> Cost:
            return (await with_motet(workflow, store=memory))[0]

        async def saved(name: str = name) -> Cost:
            return await with_langgraph(workflow, model=model, file=folder / f"{name}.langgraph.db")

        async def unsaved() -> Cost:
            return await with_langgraph(workflow, model=model)

        arms: list[tuple[str, Callable[[], Awaitable[Cost]]]] = [
            ("motet, no model", alone),
            ("motet, store off", off),
            ("motet, journal on disk", journal),
            ("motet, store on", once),
            ("motet, inherited", twice),
            ("langgraph", unsaved),
            ("langgraph, saver", saved),
        ]
        turn = number % len(arms)
        for arm, work in arms[turn:] + arms[:turn]:
            cost = await work()
            if number:
                found[arm].append(cost)
    return {arm: found[arm] for arm, _ in arms}


class Edits(NamedTuple):
    """All edits of one round: seconds, and nodes that were done."""

    seconds: float
    nodes: int


async def compare_edits(*, rounds: int, disk: Store) -> dict[str, list[Edits]]:
    """An edit in every second layer, executed in full, with inheritance, and by LangGraph."""
    found: defaultdict[str, list[Edits]] = defaultdict(list)
    base = layered()
    edits = [edited(base, f"n{layer}_{layer % WIDTH}") for layer in range(0, LAYERS, 2)]
    folder = Path(str(disk.url.database)).parent
    for number in range(rounds):
        outputs: dict[str, list[str | None]] = {}

        async def motet_arm(arm: str, *, inherit: bool, number: int = number, outputs: Any = outputs) -> Edits:
            model, seconds = Instant(SECONDS), 0.0
            name = f"edits {number} {arm}" if inherit else ""
            _, parent = await with_motet(base, store=disk, namespace=name, model=model)
            model.asked, outputs[arm] = 0, []
            for after in edits:
                cost, execution = await with_motet(
                    after, store=disk, namespace=name, model=model, parent=parent if inherit else None
                )
                seconds += cost.seconds
                outputs[arm].append(execution.output)
            return Edits(seconds, model.asked)

        async def langgraph_arm(number: int = number) -> Edits:
            model, seconds = Instant(SECONDS), 0.0
            for place, after in enumerate(edits):
                file = folder / f"edits {number} {place}.langgraph.db"
                seconds += (await with_langgraph(after, model=model, file=file)).seconds
            return Edits(seconds, model.asked)

        found["motet, in full"].append(await motet_arm("full", inherit=False))
        found["motet, inherited"].append(await motet_arm("inherited", inherit=True))
        found["langgraph, in full"].append(await langgraph_arm())
        assert outputs["full"] == outputs["inherited"], "inheritance changed an output"
    return dict(found)


def median_ms(costs: list[Cost], nodes: int, part: str) -> float:
    """Milliseconds per node."""
    parts: list[float] = [getattr(cost, part) for cost in costs]
    return statistics.median(parts) / nodes * 1e3


def ratio(found: dict[str, list[Any]], arm: str, other: str) -> float:
    """``other``'s seconds over those of ``arm`` in the same round, median over the rounds."""
    ratios: list[float] = [theirs.seconds / mine.seconds for mine, theirs in zip(found[arm], found[other], strict=True)]
    return statistics.median(ratios)


# A file system in memory, where there is one.
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


async def measure(*, nodes: int, rounds: int) -> tuple[dict[str, dict[str, list[Cost]]], dict[str, list[Edits]]]:
    """Both graphs, and the edits."""
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory(dir=MEMORY) as in_memory,
        Store.open(f"sqlite:///{Path(folder) / 'runs.db'}") as disk,
        Store.open(f"sqlite:///{Path(in_memory) / 'runs.db'}") as memory,
    ):
        shapes = {"wide": wide(nodes), "deep": deep(nodes)}
        found = {
            shape: await compare(graph, rounds=rounds, disk=disk, memory=memory) for shape, graph in shapes.items()
        }
        return found, await compare_edits(rounds=rounds, disk=disk)


def main() -> int:
    """Measure, print, and judge."""
    options = parser(__doc__)
    options.add_argument("--nodes", type=int, default=500)
    options.add_argument("--rounds", type=int, default=5)
    asked = options.parse_args()
    found, edits = asyncio.run(measure(nodes=asked.nodes, rounds=asked.rounds))
    costs = {
        shape: {
            arm: {
                "ms_per_node": median_ms(rounds, asked.nodes, "seconds"),
                "cpu_ms_per_node": median_ms(rounds, asked.nodes, "cpu"),
                "least_cpu_ms_per_node": min(cost.cpu for cost in rounds) / asked.nodes * 1e3,
            }
            for arm, rounds in arms.items()
        }
        for shape, arms in found.items()
    }
    least = {shape: arms["motet, store off"]["least_cpu_ms_per_node"] for shape, arms in costs.items()}
    beside = {shape: ratio(arms, "motet, journal on disk", "langgraph, saver") for shape, arms in found.items()}
    saved = ratio(edits, "motet, inherited", "motet, in full")
    ok = max(least.values()) < 1 and saved > 1
    rows = [[shape, arm, *cost.values()] for shape, arms in costs.items() for arm, cost in arms.items()]
    edit_rows = [
        [arm, statistics.median(one.seconds for one in rounds), rounds[0].nodes, ratio(edits, arm, "motet, in full")]
        for arm, rounds in edits.items()
    ]
    text = (
        f"{asked.nodes} nodes; {asked.rounds} interleaved rounds: medians, and the least of them\n\n"
        f"{table(['graph', 'arm', 'ms/node', 'CPU ms/node', 'least CPU'], rows)}\n\n"
        f"{LAYERS // 2} edits of a graph of {LAYERS * WIDTH + 1} nodes of {SECONDS * 1e3:.0f} ms each\n\n"
        f"{table(['arm', 'seconds', 'nodes done', 'times as fast as in full'], edit_rows)}\n\n"
        f"store off, least processor time a node: {' and '.join(f'{value:.2f} ms {shape}' for shape, value in least.items())} (wanted: under 1); "
        f"journal on disk: {' and '.join(f'{value:.1f} times as fast as langgraph {shape}' for shape, value in beside.items())}; "
        f"inherited: {saved:.1f} times as fast as in full: {'PASS' if ok else 'FAIL'}"
    )
    facts = {
        "nodes": asked.nodes,
        "graphs": costs,
        "times_as_fast_as_langgraph": beside,
        "edits": {
            arm: {"seconds": seconds, "nodes": done, "times_as_fast": times} for arm, seconds, done, times in edit_rows
        },
        "pass": ok,
    }
    publish("inherit_engine", as_json=asked.json, facts=facts, text=text)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
