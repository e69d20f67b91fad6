from .partitioner import Partitioner as Partitioner
