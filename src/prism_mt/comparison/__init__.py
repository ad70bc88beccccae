"""Which system is better, and could it be chance?"""
