"""All checks, in the order in which they are told."""

from __future__ import annotations

from unbroken.checks.account import (
    capacity,
    identity,
    names,
    parts,
    permissions,
    quotas,
    quotas_around,
    role,
    storage,
)
from unbroken.checks.bundle import (
    BundleHashes,
    BundleLineEnds,
    BundlePythonSyntax,
    BundleRendered,
    BundleShellSyntax,
    BundleSize,
)
from unbroken.checks.check import Check
from unbroken.checks.file import FileValid
from unbroken.checks.network import parts as network
from unbroken.checks.network import routes, rules
from unbroken.checks.template import data, limits, schema, wildcards
from unbroken.checks.template import network as template_network
from unbroken.checks.tools import ToolAwsCli, ToolCdk, ToolNode, ToolSessionManagerPlugin

OF_FILE: tuple[Check, ...] = (FileValid(), capacity.TypeInRegion())
OF_MACHINE: tuple[Check, ...] = (ToolAwsCli(), ToolSessionManagerPlugin(), ToolNode(), ToolCdk())
OF_BUNDLE: tuple[Check, ...] = (
    BundleRendered(),
    BundleHashes(),
    BundleShellSyntax(),
    BundlePythonSyntax(),
    BundleLineEnds(),
    BundleSize(),
)
OF_TEMPLATE: tuple[Check, ...] = (
    schema.TemplateSynth(),
    schema.TemplateSchema(),
    limits.TemplateLimits(),
    limits.TemplatePolicySize(),
    template_network.TemplateEfaRules(),
    template_network.TemplatePrivateNodes(),
    template_network.TemplateRouteToS3(),
    data.TemplateEncryption(),
    data.TemplateTlsOnly(),
    data.TemplatePublicAccess(),
    data.TemplateDataPolicies(),
    wildcards.TemplateWildcardActions(),
    wildcards.TemplateWildcardResources(),
)
OF_ACCOUNT: tuple[Check, ...] = (
    identity.AccountIdentity(),
    identity.AccountArns(),
    identity.AccountRegion(),
    identity.AccountBootstrap(),
    identity.AccountIdentityCenter(),
    quotas.QuotaInstances(),
    quotas.QuotaSpotInstances(),
    quotas.QuotaInstancesPerCluster(),
    quotas.QuotaInstancesTotal(),
    quotas.QuotaVolumeSize(),
    quotas_around.QuotaVpcs(),
    quotas_around.QuotaInternetGateways(),
    quotas_around.QuotaElasticIps(),
    quotas_around.QuotaNatGateways(),
    quotas_around.QuotaLustreCapacity(),
    quotas_around.QuotaOpenzfsCapacity(),
    capacity.ZoneAvailable(),
    capacity.TypeInZone(),
    capacity.TrainingPlans(),
    names.NamesStacks(),
    names.NamesCluster(),
    names.NamesBuckets(),
    names.NamesKeyAlias(),
    names.NamesLeftovers(),
    permissions.PermissionsDeployer(),
    permissions.PermissionsCloudFormation(),
    permissions.ServiceLinkedRoles(),
    role.PermissionsNodes(),
    role.PermissionsBoundary(),
    role.RoleTrust(),
    role.RolePermissions(),
)
OF_PARTS: tuple[Check, ...] = (
    network.NetworkVpc(),
    network.NetworkSubnetZone(),
    network.NetworkAddresses(),
    routes.NetworkPrivate(),
    routes.NetworkRouteToS3(),
    routes.NetworkWayOut(),
    rules.NetworkEfaRules(),
    rules.NetworkLustrePorts(),
    storage.FileSystemThere(),
    storage.FileSystemZone(),
    storage.HomeFileSystem(),
    storage.BucketsReachable(),
    parts.ImagesThere(),
    parts.KeysUsable(),
    parts.AccountingSecret(),
    parts.AccountingEndpoint(),
    parts.Workspaces(),
    parts.RollbackAlarms(),
)
CHECKS: tuple[Check, ...] = (
    *OF_FILE,
    *OF_MACHINE,
    *OF_BUNDLE,
    *OF_TEMPLATE,
    *OF_ACCOUNT,
    *OF_PARTS,
)
