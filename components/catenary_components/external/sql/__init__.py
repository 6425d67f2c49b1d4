"""What stands behind `dbClient`: addresses, statements, connections and values of databases."""
