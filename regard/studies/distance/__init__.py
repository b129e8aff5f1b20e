"""Distance: recall over distance and cost by length, of recurrence and of attention."""
