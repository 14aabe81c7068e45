"""Descent methods on a step's true energy [fratarcangeli2018, section 3], for every material and for contacts."""
