"""What a linear ranker over cheap features finds, beside vectors, BM25 and RRF.

``python -m bench.ranker_study DATASET_DIR…`` embeds the datasets, fits one weight vector on all of
them together, and prints recall@10 fitted on everything and held out: each fold keeps one in five
tenants (or, where a dataset has one tenant, one in five questions) from the fit.

Every feature can be computed from what a store holds: cosines, term counts, lengths, a memory's
neighbours in its session, its session's counts, and the words before its first colon (a speaker or
a title). Features of sessions are 0 for memories without one, and a memory's own features have a
second weight inside sessions: a turn of a conversation and a paragraph want different mixtures.
"""

import asyncio
import re
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import snowballstemmer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.optimize import minimize

from memstream.evaluation.dataset import DatasetMemory, DatasetQuery, read_dataset
from memstream.settings import load_settings
from retrieval.embedding import open_embedder

Floats = npt.NDArray[np.float64]

K = 10
FOLDS = 5
POOL = 200
"""Negatives a question: those that any part ranks high; the rest teach nothing."""
RIDGE = 0.02
K1, B = 1.2, 0.75

STOP_WORDS = frozenset(
    """
    a about after again all am an and any are as at be because been before being between both but
    by can could did do does doing down during each few for from further had has have having he her
    here him his how i if in into is it its just me more most my no nor not now of off on once only
    or other our out over own same she should so some such than that the their them then there
    these they this those through to too under until up very was we were what when where which
    while who whom why will with would you your
    """.split()  # noqa: SIM905 — easier to read and to add to
)
OWN = ("cosine", "bm25", "saturated bm25", "coverage", "title", "length")
WITHIN = ("joined cosine", "joined bm25", "joined coverage", "session bm25", "session cosine")
AROUND = ("previous cosine", "next cosine", "second previous cosine", "second next cosine")
NAMES = (
    *(*OWN, "cosine rank", "bm25 rank", "plain cosine", "mentioned by the best"),
    *(f"in session: {name}" for name in OWN),
    *(*WITHIN, *AROUND, "question", "after a question", "names the speaker"),
)


@cache
def stem(word: str) -> str:
    """Return the stem of an English word."""
    stemmed: str = snowballstemmer.stemmer("english").stemWord(word)
    return stemmed


def terms(text: str) -> list[str]:
    """Return the stems of a text's words, in order."""
    plain = unicodedata.normalize("NFKC", text).lower().replace("’", "'")
    words = re.findall(r"[^\W_]+(?:'[^\W_]+)?", plain)
    return [stem(re.sub(r"'s?$", "", word).replace("'", "")) for word in words]


def telling(text: str) -> list[str]:
    """Return a query's distinct stems without stop words, unless it has no others."""
    stops = {stem(word) for word in STOP_WORDS}
    every = list(dict.fromkeys(terms(text)))
    return [term for term in every if term not in stops] or every


def head(content: str) -> str:
    """Return what stands before the first colon near the start: a speaker, or a title."""
    before, colon, _ = content[:80].partition(":")
    return re.sub(r"\(.*?\)", "", before) if colon else ""


@dataclass
class Tenant:
    """A tenant's memories with everything that features are computed from."""

    memories: list[DatasetMemory]
    vectors: Floats
    counts: list["Counter[str]"] = field(init=False)

    def __post_init__(self) -> None:
        texts = [terms(memory.content) for memory in self.memories]
        self.counts = [Counter(text) for text in texts]
        self.flat = [f" {' '.join(text)} " for text in texts]
        self.lengths = np.array([len(text) for text in texts], float)
        self.heads = [terms(head(memory.content)) for memory in self.memories]
        self.asks = np.array([float("?" in memory.content) for memory in self.memories])
        self.place = {memory.id: n for n, memory in enumerate(self.memories)}
        self.previous, self.next, self.session = self._sessions()
        self.inside = (self.session >= 0).astype(float)

    def _sessions(self) -> tuple[Any, Any, Any]:
        size = len(self.memories)
        before, after, of = (np.full(size, -1) for _ in range(3))
        numbers: dict[str, int] = {}
        last: dict[str, int] = {}
        for n, memory in enumerate(self.memories):
            if memory.session is not None:
                of[n] = numbers.setdefault(memory.session, len(numbers))
                if memory.session in last:
                    before[n], after[last[memory.session]] = last[memory.session], n
                last[memory.session] = n
        return before, after, of

    def beside(self, values: Floats, neighbour: Any) -> Floats:
        """Return the neighbours' values, 0 where there is no neighbour."""
        return np.where(neighbour >= 0, values[neighbour], 0.0)

    def per_session(self, values: Floats) -> Floats:
        """Return sums over sessions."""
        sums = np.zeros(max(int(self.session.max()) + 1, 1))
        np.add.at(sums, self.session[self.session >= 0], values[self.session >= 0])
        return sums


def bm25(counts: Floats, lengths: Floats) -> Floats:
    """Return BM25 of each column of term counts."""
    documents, frequency = counts.shape[1], (counts > 0).sum(1)
    weight = np.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))
    norm = K1 * (1 - B + B * lengths / max(lengths.mean(), 1e-9))
    scores: Floats = (weight[:, None] * counts * (K1 + 1) / (counts + norm)).sum(0)
    return scores


def features(tenant: Tenant, query: str, vector: Floats) -> Floats:
    """Return a row of features for each memory of the tenant."""
    asked = telling(query)
    counts = np.array([[memory[term] for memory in tenant.counts] for term in asked], float)
    weight = np.log(len(tenant.memories) / ((counts > 0).sum(1) + 0.5) + 1)
    cosine, keyword = tenant.vectors @ vector, bm25(counts, tenant.lengths)
    normal = _scaled(cosine, float(np.median(cosine)))
    best = np.argsort(-(normal + _scaled(keyword)))[:5]
    own = [
        *(normal, _scaled(keyword), keyword / (1 + keyword), _coverage(counts, weight)),
        np.array([_share(title, asked) for title in tenant.heads]),
        np.log1p(tenant.lengths),
    ]
    ranks = [_rank_score(cosine), np.where(keyword > 0, _rank_score(keyword), 0)]
    columns = [*own, *ranks, cosine, _mentioned(tenant, best)]
    columns += [tenant.inside * column for column in own]
    columns += _of_sessions(tenant, counts, weight, cosine)
    names = {stem(word.lower()) for word in re.findall(r"\b[A-Z]\w+", query)}
    speaker = np.array([float(bool(names & set(title))) for title in tenant.heads])
    asks = tenant.inside * tenant.asks
    columns += [asks, tenant.beside(tenant.asks, tenant.previous), tenant.inside * speaker]
    return np.stack(columns, axis=1)


def _of_sessions(tenant: Tenant, counts: Floats, weight: Floats, cosine: Floats) -> list[Floats]:
    before, after = tenant.previous, tenant.next
    joined = counts + np.array([tenant.beside(row, before) for row in counts])
    lengths = tenant.lengths + tenant.beside(tenant.lengths, before)
    alike = (tenant.vectors * tenant.vectors[before]).sum(1)
    pair = (cosine + tenant.beside(cosine, before)) / np.sqrt(np.maximum(2 + 2 * alike, 1e-6))
    sessions = np.array([tenant.per_session(row) for row in counts])
    whole = _scaled(bm25(sessions, tenant.per_session(tenant.lengths)))[tenant.session]
    highest = np.full(sessions.shape[1], -1.0)
    np.maximum.at(highest, tenant.session[tenant.session >= 0], cosine[tenant.session >= 0])
    return [
        np.where(before >= 0, pair - cosine, 0),
        tenant.inside * _scaled(bm25(joined, lengths)),
        tenant.inside * _coverage(joined, weight),
        tenant.inside * whole,
        tenant.inside * highest[tenant.session],
        *(tenant.beside(cosine, side) for side in (before, after)),
        *(tenant.beside(tenant.beside(cosine, side), side) for side in (before, after)),
    ]


def _scaled(values: Floats, zero: float = 0.0) -> Floats:
    return (values - zero) / max(float(values.max()) - zero, 1e-9)


def _coverage(counts: Floats, weight: Floats) -> Floats:
    covered: Floats = weight @ (counts > 0) / max(float(weight.sum()), 1e-9)
    return covered


def _rank_score(values: Floats) -> Floats:
    ranks = np.empty(len(values))
    ranks[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
    return 61 / (60 + ranks)


def _share(title: Sequence[str], asked: Sequence[str]) -> float:
    return len(set(title) & set(asked)) / len(set(title)) if title else 0.0


def _mentioned(tenant: Tenant, best: Any) -> Floats:
    """Return 1/rank of the best memory naming this one's title: a hop without a second search."""
    found = np.zeros(len(tenant.memories))
    for rank, n in enumerate(best, start=1):
        for m, title in enumerate(tenant.heads):
            named = m != n and not tenant.inside[m] and len(" ".join(title)) > 2
            if named and not found[m] and f" {' '.join(title)} " in tenant.flat[n]:
                found[m] = 1 / rank
    return found


@dataclass(frozen=True)
class Case:
    """One question: the features of every memory, and which of them answer it."""

    dataset: str
    fold: int
    rows: Floats
    gold: frozenset[int]
    weight: float


def fit(cases: Sequence[Case]) -> Floats:
    """Return weights under which gold outweighs the rest of its question's pool (listwise)."""
    pools = [_pool(case) for case in cases]
    spread = np.concatenate([rows for rows, _, _ in pools]).std(0) + 1e-6
    scaled = [(rows / spread, gold, weight) for rows, gold, weight in pools]

    def loss(weights: Floats) -> tuple[float, Floats]:
        total, slope = RIDGE * float(weights @ weights) / 2, RIDGE * weights
        for rows, gold, weight in scaled:
            scores = rows @ weights
            odds = np.exp(scores - scores.max())
            chance = odds / odds.sum()
            total -= weight * float(np.log(chance[gold]).mean())
            slope = slope - weight * (rows[gold].mean(0) - chance @ rows)
        return total, slope

    start = np.zeros(len(NAMES))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
    weights: Floats = found.x / spread
    return weights


def _pool(case: Case) -> tuple[Floats, npt.NDArray[np.bool_], float]:
    likely = np.argsort(-(case.rows[:, 0] + case.rows[:, 1]))[:POOL]
    kept = np.array(sorted({*likely.tolist(), *case.gold}))
    return case.rows[kept], np.isin(kept, list(case.gold)), case.weight


def recall(cases: Sequence[Case], scores: Sequence[Floats]) -> tuple[float, float]:
    """Return recall@K and the share of questions with all their evidence in the K."""
    shares = []
    for case, score in zip(cases, scores, strict=True):
        best = set(np.argsort(-score, kind="stable")[:K].tolist())
        shares.append(len(best & case.gold) / len(case.gold))
    return float(np.mean(shares)), float(np.mean([share == 1 for share in shares]))


async def cases_of(folders: Sequence[Path]) -> list[Case]:
    """Embed the datasets and compute the features of every question."""
    embedder = await open_embedder("onnx", cache_dir=load_settings().data_dir / "models")
    assert embedder is not None
    cases: list[Case] = []
    for folder in folders:
        dataset = read_dataset(folder)
        vectors = np.asarray(await embedder.embed([m.content for m in dataset.memories]), float)
        asked = np.asarray(await embedder.embed([q.query for q in dataset.queries]), float)
        groups: defaultdict[str, list[int]] = defaultdict(list)
        for n, memory in enumerate(dataset.memories):
            groups[memory.tenant].append(n)
        tenants = {
            name: Tenant([dataset.memories[n] for n in numbers], vectors[numbers])
            for name, numbers in groups.items()
        }
        numbered = {name: n for n, name in enumerate(tenants)}
        for n, query in enumerate(track(dataset.queries, dataset.name)):
            fold = (numbered[query.tenant] if len(tenants) > 1 else n) % FOLDS
            cases.append(_case(dataset.name, fold, tenants, query, asked[n], len(dataset.queries)))
    await embedder.close()
    return cases


def _case(
    dataset: str, fold: int, tenants: dict[str, Tenant], query: DatasetQuery, asked: Floats, of: int
) -> Case:
    tenant = tenants[query.tenant]
    gold = frozenset(tenant.place[memory] for memory in query.gold)
    # Each dataset counts the same, however many questions it has.
    return Case(dataset, fold, features(tenant, query.query, asked), gold, 1 / of)


def main() -> None:
    """Print what each way finds, and the fitted weights."""
    cases = asyncio.run(cases_of([Path(name) for name in sys.argv[1:]]))
    together = fit(cases)
    held_out = [fit([case for case in cases if case.fold != fold]) for fold in range(FOLDS)]
    table = Table("dataset", "vector", "BM25", "RRF", "fitted on all", "held out")
    for name in dict.fromkeys(case.dataset for case in cases):
        mine = [case for case in cases if case.dataset == name]
        column = {label: NAMES.index(label) for label in NAMES}
        ways = (
            [case.rows[:, column["plain cosine"]] for case in mine],
            [case.rows[:, column["bm25"]] for case in mine],
            [case.rows[:, [column["cosine rank"], column["bm25 rank"]]].sum(1) for case in mine],
            [case.rows @ together for case in mine],
            [case.rows @ held_out[case.fold] for case in mine],
        )
        table.add_row(name, *(" / ".join(f"{x:.3f}" for x in recall(mine, way)) for way in ways))
    console = Console()
    console.print(table)
    for label, weight in sorted(zip(NAMES, together, strict=True), key=lambda pair: -abs(pair[1])):
        console.print(f"{weight:8.2f}  {label}")


if __name__ == "__main__":
    main()
