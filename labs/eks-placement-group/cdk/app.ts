// The stack of README.md: what the module in ../tofu makes, made with the AWS CDK.
//
// Values come from the environment: NEARFAR_OWNER, NEARFAR_RUN and NEARFAR_EXPIRES, which become tags, and zones (a list
// as JSON), instance_type and kubernetes_version, which mean what the module's variables of these names mean.
import { createHash } from 'node:crypto';
import { App, Aws, CfnOutput, Fn, LegacyStackSynthesizer, Stack } from 'aws-cdk-lib/core';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as eks from 'aws-cdk-lib/aws-eks';
import * as iam from 'aws-cdk-lib/aws-iam';

// value reads a variable of the environment.
function value(name: string, otherwise?: string): string {
  const given = process.env[name] || otherwise;
  if (given === undefined) {
    throw new Error(`set the variable ${name} of the environment`);
  }
  return given;
}

class Lab extends Stack {
  constructor(app: App) {
    const owner = value('NEARFAR_OWNER');
    const run = value('NEARFAR_RUN', 'eks-placement-group');
    const expires = value('NEARFAR_EXPIRES');
    const zones: string[] = JSON.parse(value('zones', '["a", "b"]'));
    if (zones.length !== 2 || zones[0] === zones[1]) {
      throw new Error('name two zones: zones=\'["a", "b"]\'');
    }
    // Names of stacks, clusters and groups are unique in a region of an account, which several people may share.
    const name = 'nearfar-eks-' + createHash('sha256').update(`${owner} ${run}`).digest('hex').slice(0, 8);
    // This synthesizer needs no bootstrap stack, which would stay in the account.
    super(app, 'Lab', { stackName: name, synthesizer: new LegacyStackSynthesizer() });

    const own = { nearfar_owner: owner, nearfar_run: run, nearfar_expires: expires };
    const tags = Object.entries(own).map(([key, text]) => ({ key, value: text }));
    const named = [...tags, { key: 'Name', value: name }];

    // Public subnets, as in the article: the nodes need no NAT gateway, which costs by the hour.
    const vpc = new ec2.CfnVPC(this, 'Vpc', {
      cidrBlock: '10.43.0.0/16', enableDnsHostnames: true, enableDnsSupport: true, tags: named,
    });
    const gateway = new ec2.CfnInternetGateway(this, 'Gateway', { tags: named });
    const attachment = new ec2.CfnVPCGatewayAttachment(this, 'GatewayAttachment', {
      vpcId: vpc.ref, internetGatewayId: gateway.ref,
    });
    const table = new ec2.CfnRouteTable(this, 'RouteTable', { vpcId: vpc.ref, tags: named });
    const route = new ec2.CfnRoute(this, 'Internet', {
      routeTableId: table.ref, destinationCidrBlock: '0.0.0.0/0', gatewayId: gateway.ref,
    });
    route.addResourceDependency(attachment);
    const joined: ec2.CfnSubnetRouteTableAssociation[] = [];
    const subnets = zones.map((zone, i) => {
      const subnet = new ec2.CfnSubnet(this, `Subnet${i}`, {
        vpcId: vpc.ref, availabilityZone: Fn.join('', [Aws.REGION, zone]), cidrBlock: `10.43.${i}.0/24`,
        mapPublicIpOnLaunch: true, tags: [...tags, { key: 'Name', value: `${name}-${zone}` }],
      });
      joined.push(new ec2.CfnSubnetRouteTableAssociation(this, `SubnetRoutes${i}`, {
        subnetId: subnet.ref, routeTableId: table.ref,
      }));
      return subnet;
    });

    const role = (id: string, service: string, policies: string[]) => new iam.CfnRole(this, id, {
      assumeRolePolicyDocument: {
        Version: '2012-10-17',
        Statement: [{ Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: `${service}.amazonaws.com` } }],
      },
      managedPolicyArns: policies.map((policy) => `arn:${Aws.PARTITION}:iam::aws:policy/${policy}`),
      tags,
    });
    const clusterRole = role('ClusterRole', 'eks', ['AmazonEKSClusterPolicy']);
    const nodeRole = role('NodeRole', 'ec2', [
      'AmazonEC2ContainerRegistryReadOnly', 'AmazonEKSWorkerNodePolicy', 'AmazonEKS_CNI_Policy',
    ]);

    const cluster = new eks.CfnCluster(this, 'Cluster', {
      name,
      version: process.env.kubernetes_version || undefined, // without it, EKS takes its default
      roleArn: clusterRole.attrArn,
      resourcesVpcConfig: {
        subnetIds: subnets.map((subnet) => subnet.ref), endpointPublicAccess: true, endpointPrivateAccess: true,
      },
      accessConfig: { authenticationMode: 'API', bootstrapClusterCreatorAdminPermissions: true },
      tags,
    });

    // Two node groups that differ in the placement group only: same zone, same type, same launch template otherwise.
    const group = new ec2.CfnPlacementGroup(this, 'Group', { strategy: 'cluster', tags });
    for (const placed of [true, false]) {
      const id = placed ? 'placed' : 'apart';
      const template = new ec2.CfnLaunchTemplate(this, `Template-${id}`, {
        launchTemplateData: {
          ...(placed ? { placement: { groupName: group.ref } } : {}),
          // Two hops, so that pods reach the metadata service: it proves in which placement group they are.
          metadataOptions: { httpEndpoint: 'enabled', httpTokens: 'required', httpPutResponseHopLimit: 2 },
          // EKS does not pass the tags of a node group on to what it makes.
          tagSpecifications: ['instance', 'volume', 'network-interface'].map((resourceType) => ({ resourceType, tags })),
        },
        tagSpecifications: [{ resourceType: 'launch-template', tags }],
      });
      const nodes = new eks.CfnNodegroup(this, `Nodes-${id}`, {
        clusterName: cluster.ref,
        nodegroupName: id,
        nodeRole: nodeRole.attrArn,
        subnets: [subnets[0].ref],
        amiType: 'AL2023_x86_64_STANDARD',
        capacityType: 'ON_DEMAND',
        instanceTypes: [value('instance_type', 'c5.large')],
        labels: { placementGroup: String(placed) },
        scalingConfig: { minSize: 2, desiredSize: 2, maxSize: 2 },
        launchTemplate: { id: template.ref, version: template.attrLatestVersionNumber },
        tags: own,
      });
      // Nodes join through the internet gateway.
      nodes.addResourceDependency(route);
      joined.forEach((association) => nodes.addResourceDependency(association));
    }

    // The same outputs as in ../tofu.
    const outputs = {
      cluster: cluster.ref,
      region: Aws.REGION,
      zone: subnets[0].attrAvailabilityZone,
      group: group.ref,
      kubeconfig: `aws eks update-kubeconfig --region ${Aws.REGION} --name ${cluster.ref}`,
    };
    for (const [id, text] of Object.entries(outputs)) {
      new CfnOutput(this, id, { value: text });
    }
  }
}

new Lab(new App({ analyticsReporting: false }));
