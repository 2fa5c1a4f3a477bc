"""Search against its limits (bare SQL, a bare matrix product) and against its peers."""
