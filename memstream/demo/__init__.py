"""A demonstration: three tenants with different habits, whose searches teach their policies."""
