"""Learning against Vowpal Wabbit, on the same contexts and rewards."""
