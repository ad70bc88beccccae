"""Fine-tuning on human judgments: pairwise ranking (Prism+FT)."""
