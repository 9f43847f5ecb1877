#!/usr/bin/env bash
# What a worker may do at RabbitMQ: take wake-ups, hear of jobs' ends, answer health checks. It cannot touch other virtual hosts.
#
#   rabbitmqctl add_user node1 PASSWORD
#   storage/roles/rabbitmq-worker.sh VHOST node1 [DEVICE]      with a DEVICE: the wake-ups of that device alone
set -euo pipefail
vhost=$1 user=$2 device=${3:-.*}
own="device\.($device)|compile|bcast\..*|kernelwright\.ended|.*celery\.pidbox|celeryev.*"
rabbitmqctl -q set_permissions -p "$vhost" "$user" "^($own)\$" "^($own|amq\.default)\$" "^($own)\$"
