"""A real Apache Kafka that asks who one is: its certificates, users and listeners."""

import asyncio
import shutil
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from memstream.embedded.kafka.broker import Broker
from memstream.embedded.kafka.cluster import Cluster
from memstream.embedded.kafka.jars import resolve
from memstream.embedded.kafka.plan import make_plan
from tests.acceptance.service import free_port

USER, PASSWORD = "memstream", "correct horse battery staple"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
LISTENERS = {"SASL_SSL": "SASL_SSL", "SASL_PLAINTEXT": "SASL_PLAINTEXT", "SSL": "SSL"}


def certified(folder):
    """Write an authority, a broker's certificate and a client's, as PEM files."""
    authority_key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an authority")])
    authority = _certificate(name, name, authority_key, authority_key, authority=True)
    (folder / "ca.pem").write_bytes(_pem(authority))
    for who in ("broker", "client"):
        key = ec.generate_private_key(ec.SECP256R1())
        named = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, who)])
        certificate = _certificate(named, name, key, authority_key)
        (folder / f"{who}.pem").write_bytes(_pem(certificate))
        (folder / f"{who}.key").write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
    both = (folder / "broker.key").read_bytes() + (folder / "broker.pem").read_bytes()
    (folder / "keystore.pem").write_bytes(both)


def _certificate(subject, issuer, key, signing_key, authority=False):
    now = datetime.now(UTC)
    alternative = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(hours=2))
        .add_extension(alternative, critical=False)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .sign(signing_key, hashes.SHA256())
    )


def _pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)


def _properties(node, ports):
    """Return what the secured listeners need, after what a local broker has anyway."""
    secured = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
    mapped = ",".join(f"{name}:{protocol}" for name, protocol in LISTENERS.items())
    own = f"BROKER://{node.address}"
    scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    plain = (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        f'user_{USER}="{PASSWORD}";'
    )
    chosen = {
        "listeners": f"{own},CONTROLLER://127.0.0.1:{node.controller_port},{secured}",
        "advertised.listeners": f"{own},{secured}",
        "listener.security.protocol.map": f"BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT,{mapped}",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": "keystore.pem",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "ca.pem",
        "listener.name.ssl.ssl.client.auth": "required",
    }
    for listener in ("sasl_ssl", "sasl_plaintext"):
        for mechanism in MECHANISMS:
            name = f"listener.name.{listener}.{mechanism.lower()}.sasl.jaas.config"
            chosen[name] = plain if mechanism == "PLAIN" else scram
    return "".join(f"{name}={value}\n" for name, value in chosen.items())


@asynccontextmanager
async def secure_kafka(folder, jars):
    """Run it; yields the address of each listener by its protocol."""
    plan = make_plan(folder, 1, None)
    (node,) = plan.nodes
    place = folder / "broker-1"
    broker = Broker(place, node, shutil.which("java"), await resolve(jars, print))
    await broker.prepare(plan)
    certified(place)
    ports = {name: free_port() for name in LISTENERS}
    with (place / "server.properties").open("a") as properties:
        properties.write(_properties(node, ports))
    cluster = Cluster(plan.bootstrap, (broker,))
    try:
        await cluster.start_all()
        await asyncio.to_thread(_add_users, plan.bootstrap)
        yield place, {name: f"127.0.0.1:{port}" for name, port in ports.items()}
    finally:
        await cluster.stop_all()


def _add_users(bootstrap):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        how = ScramCredentialInfo(mechanism, 4096)
        added = UserScramCredentialUpsertion(USER, how, PASSWORD.encode())
        for done in admin.alter_user_scram_credentials([added]).values():
            done.result(30)
