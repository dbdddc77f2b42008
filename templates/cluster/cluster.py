"""Where the calls run. `study.toml` names the function `workers`."""

import contextlib
import signal

from distributed import Client, LocalCluster

JOBS = 2


def local():
    """Worker processes on this machine."""
    return LocalCluster(n_workers=JOBS, threads_per_worker=1, dashboard_address=":0")


def slurm():
    """Jobs on a SLURM cluster; needs dask-jobqueue."""
    from dask_jobqueue import SLURMCluster

    cluster = SLURMCluster(queue="standard", cores=1, memory="2GB", walltime="02:00:00")
    cluster.scale(jobs=JOBS)
    return cluster


def pbs():
    """Jobs on a PBS cluster; needs dask-jobqueue."""
    from dask_jobqueue import PBSCluster

    cluster = PBSCluster(queue="workq", cores=1, processes=1, memory="2GB", walltime="02:00:00")
    cluster.scale(jobs=JOBS)
    return cluster


def kubernetes():
    """Pods on Kubernetes, as many as there is work for; needs dask-kubernetes and its operator."""
    from dask_kubernetes.operator import KubeCluster

    cluster = KubeCluster(name="suspension", image="archeng-worker:1", n_workers=JOBS)
    cluster.adapt(minimum=1, maximum=JOBS)
    return cluster


make_cluster = local  # on SLURM: make_cluster = slurm; or pbs, kubernetes


@contextlib.contextmanager
def workers():
    """Give a Dask client while the run goes on; cluster and jobs are gone afterwards."""
    with make_cluster() as cluster, Client(cluster, set_as_default=False) as client:
        client.run(ignore_ctrl_c)
        yield client


def ignore_ctrl_c():
    """Let local workers finish their calls: a terminal sends Ctrl-C to them, too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
