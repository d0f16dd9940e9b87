"""The generated Python client of the reference API, with a note of every operation it called."""

import assisted_service_client as generated
from assisted_service_client.rest import ApiException

from muster import BASE_PATH


class Recorded(generated.ApiClient):
    """An ApiClient that remembers which (method, path template) gave which status."""

    def __init__(self, url):
        configuration = generated.Configuration()
        configuration.host = url + BASE_PATH
        configuration.verify_ssl = False
        super().__init__(configuration=configuration)
        self.seen = {}

    def call_api(self, resource_path, method, *args, **kwargs):
        statuses = self.seen.setdefault((method.lower(), resource_path), [])
        try:
            answer = super().call_api(resource_path, method, *args, **kwargs)
        except ApiException as refusal:
            statuses.append(refusal.status)
            raise
        statuses.append(self.last_response.status)
        return answer


class Client:
    """All six parts of the generated client under one roof."""

    def __init__(self, url):
        self.transport = Recorded(url)
        parts = [
            generated.InstallerApi,
            generated.EventsApi,
            generated.ManagedDomainsApi,
            generated.ManifestsApi,
            generated.OperatorsApi,
            generated.VersionsApi,
        ]
        self._parts = [part(self.transport) for part in parts]

    def __getattr__(self, name):
        for part in self._parts:
            if hasattr(part, name):
                return getattr(part, name)
        raise AttributeError(f"the generated client has no operation {name}")

    @property
    def last(self):
        """The raw response of the latest call."""
        return self.transport.last_response

    def refused(self, status, operation, *args, **kwargs):
        """Calls an operation that must be refused with this status, and returns the refusal."""
        try:
            getattr(self, operation)(*args, **kwargs)
        except ApiException as refusal:
            assert refusal.status == status, f"{operation}: {refusal.status} instead of {status}: {refusal.body}"
            return refusal
        raise AssertionError(f"{operation} answered {self.last.status}, expected {status}")
