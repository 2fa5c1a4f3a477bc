"""The application: command line, wiring, embedded parts and web pages."""
