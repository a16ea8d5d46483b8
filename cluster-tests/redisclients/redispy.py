"""redis-py asks jeton: lines of what is asked and answered, for TestRedisClients."""

import os
import sys
import time

import redis

host, port = sys.argv[1].split(":")
client = redis.Redis(host=host, port=int(port), client_name="story", decode_responses=True)


def show(asked, answer):
    print(f"> {asked}\n  {answer}", flush=True)


def told(asked, ask):
    try:
        show(asked, ask())
    except redis.RedisError as e:
        show(asked, f"{type(e).__name__}: {e}")


def line(text):
    told(text, lambda: client.execute_command(*text.split(" ")))


def five():
    pipe = client.pipeline(transaction=False)
    for _ in range(5):
        pipe.execute_command("CL.THROTTLE", "py-pipeline", 2, 1, 3600)
    return pipe.execute()


told("connect", lambda: client.ping() and "ready")
line("CL.THROTTLE py 2 1 3600")
line("CL.THROTTLE py 2 1 3600 2")
line("CL.THROTTLE py 2 1 3600")
line("JETON.CHECK py login")
line("JETON.CHECK py login 9")
told("pipeline of 5 × CL.THROTTLE py-pipeline 2 1 3600", five)
told(f"EVALSHA {os.environ['SHA']} 1 py 10 1 3600 4", lambda: client.evalsha(os.environ["SHA"], 1, "py", 10, 1, 3600, 4))
line("JETON.CHECK py logn")
line("CL.THROTTLE py 2 0 3600")
line("GET py")
print("> kill -9 of the node, and a start", flush=True)
sys.stdin.readline()
while True:
    try:
        show("CL.THROTTLE py 2 1 3600", client.execute_command("CL.THROTTLE", "py", 2, 1, 3600))
        break
    except redis.ConnectionError:
        time.sleep(0.05)
client.close()
