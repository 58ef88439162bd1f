# Completes stint's commands and flags in bash. Made by stint completion bash.
_stint() {
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} flags=
    [[ $command != -* ]] || command=server
    case $command in
    server) flags='--listen --requirepass --dir --max-memory --http-listen --tls-listen --admin --admin-token --cluster-listen --config --tls-cert --tls-key --tls-client-ca --loops --policies --durability --snapshot-every --journal-size --repair --rewind --databases --when-full --prefix-delimiters --prefix-quotas --acl-file --acl-log-length --protected-mode --auth-timeout --failed-logins --preauth-args --preauth-size --max-clients --max-clients-per-address --max-unauthenticated --client-memory --command-timeout --output-timeout --idle-timeout --shutdown-timeout --max-args --max-key-size --max-sliding-log --tracking-table-max-keys --max-bulk-size --query-buffer-size --output-buffer-size --http-tls-listen --http-hosts --http-origins --ratelimit-fields --grpc-listen --grpc-tls-listen --rls-config --rls-headers --rls-xds --rls-xds-node --rls-xds-wait --rls-xds-tls --rls-xds-tls-cert --rls-xds-tls-key --rls-xds-tls-ca --rls-xds-tls-name --node-id --cluster-peers --bootstrap-expect --cluster-advertise --advertise --groups --cluster-replicas --cluster-shared --redirect --decide-timeout --shutdown-grace --cluster-heartbeat --cluster-disk-timeout --cluster-log --cluster-log-size --cluster-ahead --cluster-import --cluster-secret --cluster-tls-cert --cluster-tls-key --cluster-tls-ca --cluster-insecure --upstream --upstream-keys --upstream-policies --upstream-user --upstream-password-file --upstream-tls --upstream-tls-ca --upstream-timeout --upstream-down --upstream-deny-for --upstream-loan-time --admin-tls --health-listen --pprof --top-keys --warn-webhook --denial-events --slowlog-log-slower-than --slowlog-max-len --latency-monitor-threshold --log-level --log-format' ;;
    sidecar) flags='--home' ;;
    inspect) flags='--dump' ;;
    backup) flags='--admin --tls --cacert --token-file --user --password-file --stale' ;;
    health) flags='--admin --tls --cacert --alive' ;;
    top) flags='--admin --tls --cacert --token-file --once' ;;
    policy) flags='--admin --tls --cacert --token-file --prune --dry-run --before --json' ;;
    replay) flags='--limit --against --suggest --except --key --format --time-field --time-zone --top --max-memory --json' ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
    elif ((COMP_CWORD == 1)) || [[ ${COMP_WORDS[1]} == help ]]; then
        mapfile -t COMPREPLY < <(compgen -W 'server sidecar inspect backup restore health top policy replay completion manual version help' -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -o filenames -F _stint stint
