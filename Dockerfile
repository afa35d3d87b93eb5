# The study with the versions of the lock:  docker build -t as2lib . && docker run --rm -v "$PWD/reports:/as2lib/reports" as2lib
# Where torch's CPU wheel lies in an index of yours:  docker build --build-arg PIP_EXTRA_INDEX_URL=… .
FROM python:3.11-slim
RUN apt-get update && apt-get install --yes --no-install-recommends git make && rm -rf /var/lib/apt/lists/*
ARG PIP_EXTRA_INDEX_URL
WORKDIR /as2lib
COPY . .
RUN make setup
CMD ["make", "study"]
