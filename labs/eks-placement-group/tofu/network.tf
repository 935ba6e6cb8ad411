# Public subnets, as in the article: the nodes need no NAT gateway, which costs by the hour.

resource "aws_vpc" "this" {
  cidr_block           = "10.43.0.0/16"
  enable_dns_hostnames = true
  tags                 = merge(local.tags, { Name = local.name })
}

resource "aws_internet_gateway" "this" {
  vpc_id = aws_vpc.this.id
  tags   = merge(local.tags, { Name = local.name })
}

resource "aws_subnet" "this" {
  count                   = 2
  vpc_id                  = aws_vpc.this.id
  availability_zone       = "${data.aws_region.this.region}${var.zones[count.index]}"
  cidr_block              = "10.43.${count.index}.0/24"
  map_public_ip_on_launch = true
  tags                    = merge(local.tags, { Name = "${local.name}-${var.zones[count.index]}" })
}

resource "aws_route_table" "this" {
  vpc_id = aws_vpc.this.id
  tags   = merge(local.tags, { Name = local.name })
}

resource "aws_route" "internet" {
  route_table_id         = aws_route_table.this.id
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.this.id
}

resource "aws_route_table_association" "this" {
  count          = 2
  subnet_id      = aws_subnet.this[count.index].id
  route_table_id = aws_route_table.this.id
}
