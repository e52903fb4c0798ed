"""The words of the product as immutable values; standard library only."""
