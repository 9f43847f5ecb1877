#!/usr/bin/env bash
# Passwords for docker-compose.yml, drawn at random into ./secrets (or the folder named); keeps those that are there.
set -euo pipefail
folder=${1:-secrets}
umask 077
mkdir -p "$folder"

draw() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
keep() { [ -s "$folder/$1" ] || printf '%s' "$2" >"$folder/$1"; }

keep postgres_password "$(draw)"
keep redis_password "$(draw)"
keep token "$(draw)"
keep secrets_key "$(head -c 32 /dev/urandom | base64 | tr '+/' '-_')"  # encrypts webhook secrets in the database
keep database_url "postgresql+psycopg://kernelwright:$(cat "$folder/postgres_password")@postgres:5432/kernelwright"
keep redis_url "redis://:$(cat "$folder/redis_password")@redis:6379/0"
keep redis.conf "requirepass $(cat "$folder/redis_password")
appendonly yes
appendfsync everysec
maxmemory-policy noeviction
"
# Keys of model providers: an empty file means none.
for name in openai_api_key anthropic_api_key; do [ -e "$folder/$name" ] || : >"$folder/$name"; done
# Containers read them as users of their own; the folder keeps others out.
chmod 0644 "$folder"/*
chmod 0700 "$folder"
echo "$folder: $(ls "$folder" | tr '\n' ' ')"
