"""A demonstration: the whole service with three tenants' memories and a stream of searches."""
