"""The tools: what an agent can ask of its memory, and tell it."""

from typing import Annotated, Any

from mcp.server.mcpserver import Context
from memstream_client import Kind, Layer, ScoredMemory, SearchResult
from pydantic import BaseModel, ConfigDict, Field

from memstream.mcp.link import Link

Query = Annotated[
    str,
    Field(
        min_length=1,
        max_length=8192,
        description="What to look for, in plain words: a question, or what the memory is about.",
    ),
]
Limit = Annotated[int, Field(ge=1, le=100, description="At most so many memories.")]
Layers = Annotated[
    list[Layer] | None,
    Field(description="Only memories that apply this widely; all if left out."),
]
Scope = Annotated[
    str | None,
    Field(description="Only this scope, such as a project's name, and what is global."),
]


class Found(BaseModel):
    """Memories, and the request that found them."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    request_id: str
    """Names this search when its result is judged with memory_feedback."""
    results: tuple[ScoredMemory, ...]
    """The memories, best first."""
    degraded: bool
    """Whether something helpful had to be left out to answer in time."""


class Remembered(BaseModel):
    """A memory that was taken."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    memory_id: str
    """Its id: with it the memory can be got, or replaced."""


class Told(BaseModel):
    """Feedback that was taken."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    request_id: str
    """The search it is about."""
    used: list[str]
    """The memories that count as used."""


class MemoryTools:
    """Each method is a tool; its docstring is what the agent reads."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def memory_search(
        self,
        context: Context,
        query: Query,
        limit: Limit = 10,
        layers: Layers = None,
        scope: Scope = None,
        filters: Annotated[
            dict[str, Any] | None,
            Field(description="Only memories whose metadata has these values."),
        ] = None,
    ) -> Found:
        """Search the long-term memory for what helps with a question or task.

        Finds by meaning and by words; memories of more specific layers come first. Search before
        you answer from what you happen to know about the user, the project or earlier talks. Then
        tell with memory_feedback which memories helped: searches get better by it.
        """
        async with self._link.calling(context) as client:
            found = await client.search(
                query, limit=limit, layers=layers, scope=scope, filters=filters
            )
            return self._shown(found)

    async def memory_recall(
        self,
        context: Context,
        query: Query,
        limit: Limit = 10,
        layers: Layers = None,
        scope: Scope = None,
    ) -> Found:
        """Recall what matters most about a topic: relevant, important, recent and certain memories.

        Use it to get into a topic or a conversation; use memory_search to find something specific.
        """
        async with self._link.calling(context) as client:
            found = await client.recall(query, limit=limit, layers=layers, scope=scope)
            return self._shown(found)

    async def memory_get(
        self,
        context: Context,
        memory_ids: Annotated[
            list[str],
            Field(min_length=1, max_length=100, description="Ids that another tool returned."),
        ],
    ) -> Found:
        """Get memories by their ids, as they are now; ids that do not exist are left out."""
        async with self._link.calling(context) as client:
            return self._shown(await client.get(memory_ids))

    async def memory_remember(
        self,
        context: Context,
        text: Annotated[
            str,
            Field(
                min_length=1,
                max_length=65_536,
                description="What to remember, as a sentence that can be understood by itself.",
            ),
        ],
        layer: Annotated[Layer, Field(description="How widely it applies.")] = "user",
        scope: Annotated[
            str, Field(description="Where it applies, such as a project's name.")
        ] = "global",
        kind: Annotated[
            Kind, Field(description="A fact, a rule to follow, or an episode that happened.")
        ] = "fact",
        importance: Annotated[
            float, Field(ge=0, le=10, description="How much it matters, 0 to 10.")
        ] = 5.0,
        metadata: Annotated[
            dict[str, Any] | None, Field(description="Anything to filter searches by.")
        ] = None,
        memory_id: Annotated[
            str | None, Field(description="The memory to replace; a new one if left out.")
        ] = None,
    ) -> Remembered:
        """Remember something for later talks: one fact, rule or episode a call.

        It can be found a moment later. Do not store secrets.
        """
        said: Any = {"layer": layer, "scope": scope, "kind": kind, "importance": importance}
        said |= {"metadata": metadata, **({} if memory_id is None else {"memory_id": memory_id})}
        async with self._link.calling(context) as client:
            return Remembered(memory_id=await client.remember(text, **said))

    async def memory_feedback(
        self,
        context: Context,
        request_id: Annotated[str, Field(description="The request_id of the search's result.")],
        quality_score: Annotated[
            float,
            Field(ge=0, le=1, description="How good the result was: 0 useless, 1 all that helped."),
        ],
        used: Annotated[
            list[str] | None,
            Field(description="The ids of the memories that you used; none if left out."),
        ] = None,
    ) -> Told:
        """Tell how good the result of a search was, and which of its memories you used.

        The memory learns from it how to search for you. Judge every search once its memories were
        of use, or clearly of none.
        """
        async with self._link.calling(context, about=request_id) as client:
            if used:
                await client.use(request_id, used, quality_score)
            await client.feedback(request_id, quality_score)
            return Told(request_id=request_id, used=used or [])

    def _shown(self, found: SearchResult) -> Found:
        self._link.remember_session(found.request_id, found.session_id)
        return Found(request_id=found.request_id, results=found.results, degraded=found.degraded)
