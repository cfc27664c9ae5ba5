"""What was found, as one HTML file to hand over. Pure functions of data: nothing is read or written here.

    markup, page, charts, curves                       text that cannot break HTML; the page; what is drawn
    run_page, receipt_page                             a run for its owner, for others
    plan_page, simulation_page                         what was planned and tried

What is for others is made of agreement and receipt alone.
"""
