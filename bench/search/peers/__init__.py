"""What one would use instead, set up as its own documentation says, with exact vector search."""
