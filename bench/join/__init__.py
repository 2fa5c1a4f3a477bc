"""How fast searches are joined with what came of them, held against a limit and a peer.

One run, on one real Apache Kafka and one real PostgreSQL. Every contestant is one process that
reads the same five topics (4 partitions each), decodes and checks every message with the same
functions, and writes the same rows with the same statements, in transactions of up to 128 events
of a topic; offsets are committed after the transactions, and what came of searches is published
from the outbox with acks=all. They differ in what is around that:

- **memstream**: ``memstream worker`` as users run it, all agents, relay and sweeper included, but
  for learning from what was joined, which neither of the others does.
- **bare loop**: aiokafka and nothing else: poll, decode, write, publish, commit, in turn. It is the
  limit: no service around the same work can be expected to do without any of this.
- **Quix Streams**: ``Application`` with a dataframe a topic and a batching sink, which writes and
  publishes when a checkpoint is committed, every 640 messages (5 topics of 128); its own consumer
  and producer (librdkafka). The join and its SQL are ours, as it has no joins of several topics
  with late, repeated and early events in a database: a gift to the peer.

The clock starts when the first message is published to idle contestants that are warm, and stops
when the trajectory of the last search has been published. Afterwards the rows that each has
written are compared. Every search gets one decisive signal, so each gives one trajectory.
"""
