from .liars import liars_move as liars_move
