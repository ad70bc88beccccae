"""Meta-evaluation: how well metrics agree with people, and which difference is real."""
