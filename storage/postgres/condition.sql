-- name: condition
WITH service AS (SELECT * FROM pg_roles WHERE rolname = 'memstream_app'),
walled AS (
    SELECT c.*
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'memstream' AND c.relkind IN ('r', 'p') AND EXISTS (
        SELECT FROM pg_attribute a
        WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
    )
)
SELECT
    current_user::text AS "user",
    current_database()::text AS database,
    split_part(current_setting('server_version'), ' ', 1) AS server,
    pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS read_only,
    clock_timestamp() AS at,
    (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector,
    (SELECT default_version FROM pg_available_extensions WHERE name = 'vector') AS vector_to_have,
    has_database_privilege(current_database(), 'CREATE') AND (
        me.rolsuper OR NOT EXISTS (
            SELECT FROM pg_available_extension_versions
            WHERE name = 'vector' AND superuser AND NOT trusted
        )
    ) AS may_create_vector,
    me.rolsuper OR me.rolbypassrls AS user_bypasses,
    EXISTS (SELECT FROM service) AS has_role,
    EXISTS (SELECT FROM service WHERE pg_has_role(me.oid, service.oid, 'MEMBER')) AS may_become,
    EXISTS (SELECT FROM service WHERE rolsuper OR rolbypassrls) AS role_bypasses,
    EXISTS (
        SELECT FROM service, walled WHERE pg_has_role(service.oid, walled.relowner, 'USAGE')
    ) AS role_owns,
    ARRAY (
        SELECT relname::text FROM walled
        WHERE NOT (relrowsecurity AND relforcerowsecurity) ORDER BY relname
    ) AS unwalled
FROM pg_roles me
WHERE me.rolname = current_user
