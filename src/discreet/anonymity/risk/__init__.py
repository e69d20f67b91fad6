"""What a table promises and who could be found in it: classes, rules, distances, persons."""
