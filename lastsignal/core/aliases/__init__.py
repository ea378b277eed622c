"""The alias layer: what any framework wrote → Events; one module a framework family."""
