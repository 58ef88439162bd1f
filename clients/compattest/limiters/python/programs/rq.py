from datetime import UTC, datetime, timedelta

from redis import Redis
from rq import Queue, SimpleWorker
from rq.job import JobStatus
from rq.rate_limit import RateLimit

from serve import URL, serve

client = Redis.from_url(URL)


def limiter(key):
    queue = Queue(key, connection=client)
    work_off(queue)

    def call():
        job = queue.enqueue("operator.mul", 6, 7, rate_limit=RateLimit(key, 5))
        if job.get_status() == JobStatus.QUEUED:
            return True
        job.delete()
        return False

    return call


def work_off(queue):
    """Carry out the jobs of a queue, if the first has been there for two seconds."""
    jobs = queue.jobs
    if jobs and datetime.now(UTC) - jobs[0].enqueued_at > timedelta(seconds=2):
        SimpleWorker([queue], connection=client).work(burst=True, logging_level="ERROR")
        results = [job.latest_result().return_value for job in jobs]  # they are in a stream
        if any(result != 42 for result in results):
            raise RuntimeError(f"results are {results}")


serve("rq", limiter)
