// There is nothing here: only the dependency is built.
