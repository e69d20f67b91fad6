from .minimality import minimality_attack as minimality_attack
