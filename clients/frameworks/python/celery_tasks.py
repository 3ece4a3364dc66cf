"""The tasks of the Celery session, for its worker and for the session itself."""

import os

from celery import Celery

url = os.environ["SKEIN_URL"]
app = Celery("celery_tasks", broker=url, backend=url)


@app.task(name="add")
def add(a, b):
    return a + b


@app.task(name="total")
def total(numbers):
    return sum(numbers)
