"""Stream agents: take messages, call what knows, emit what came of it."""
