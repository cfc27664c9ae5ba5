"""Who compares, besides this process: processes on this machine, or actors on the owner's Ray cluster.

    resources, messages, routing          cores, memory and seconds; bytes between processes; who calls whom
    certificates                          how two sides pair their workers
    connections, local, ray               workers as their coordinator sees them, here and on a cluster
    choice, pool                          which of them a side wants; all of them together
    worker                                a worker, wherever it is
    foreman, cluster, ray_worker, relay   the process between a coordinator and a cluster, and what it uses

It stands upon `peer` and `state`, none of which knows of workers.
"""
