"""Published programs with their faults, for reruns only: nothing but the studies may use them."""
