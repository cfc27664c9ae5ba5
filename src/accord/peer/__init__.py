"""The partner and the connection to it: identities, TLS, frames, and what is said first.

    identity, partners, introduction      the own key and card, and the cards of partners
    encryption                            a second layer inside TLS, against quantum computers
    frames, channel                       messages over both, with patience
    connect, port, listener, connection   to call, or to be called; a connection as long as it is needed
    handshake                             the first messages of a run

It stands upon `state`, and knows of no run or worker.
"""
