//! Conversions between the types of this module and those that bindings generate from the contract.

/// Implements `From` for what an adapter says to a service and of it, between two modules with the
/// contract's types: `service` of the bindings, and the contract's. The host lifts it from its
/// bindings, `convert_exchanges!(wit => contract)`, and the SDK lowers it to its own,
/// `convert_exchanges!(contract => wit)`: where both have the same cases and fields, one text
/// serves both directions. The caller adds `From` for `Credential`.
#[macro_export]
macro_rules! convert_exchanges {
    ($from:ident => $to:ident) => {
        $crate::convert_exchanges! {
            @cases $from $to Class:
            Unsupported BadKey NoCredit RateLimited BadRequest TargetFailed TargetBlocked
            TargetUnreachable ProviderTimeout ProviderError Drift
        }
        $crate::convert_exchanges! { @cases $from $to Charged: Yes No Unknown }

        impl From<$from::Quantity> for $to::Quantity {
            fn from(quantity: $from::Quantity) -> Self {
                Self {
                    unit: quantity.unit,
                    billionths: quantity.billionths,
                }
            }
        }

        impl From<$from::Cost> for $to::Cost {
            fn from(cost: $from::Cost) -> Self {
                Self {
                    quantities: cost.quantities.into_iter().map(Into::into).collect(),
                    charged: cost.charged.into(),
                    reported: cost.reported,
                }
            }
        }

        impl From<$from::Failure> for $to::Failure {
            fn from(failure: $from::Failure) -> Self {
                Self {
                    class: failure.class.into(),
                    message: failure.message,
                    code: failure.code,
                    target_status: failure.target_status,
                    retry_after: failure.retry_after,
                    retryable: failure.retryable,
                    request_id: failure.request_id,
                    cost: failure.cost.into(),
                }
            }
        }

        impl From<$from::Request> for $to::Request {
            fn from(request: $from::Request) -> Self {
                Self {
                    method: request.method,
                    url: request.url,
                    headers: request.headers,
                    credentials: request.credentials.into_iter().map(Into::into).collect(),
                    body: request.body,
                    time_ms: request.time_ms,
                }
            }
        }
    };
    (@cases $from:ident $to:ident $name:ident: $($case:ident)*) => {
        impl From<$from::$name> for $to::$name {
            fn from(value: $from::$name) -> Self {
                match value {
                    $($from::$name::$case => Self::$case,)*
                }
            }
        }
    };
}

/// The same for the rest of what a provider's adapter says.
#[macro_export]
macro_rules! convert_answers {
    ($from:ident => $to:ident) => {
        $crate::convert_answers! {
            @flags $from $to Abilities:
            SERVES FIXED_WAIT WAIT_SELECTOR SCRIPT HEADERS COOKIES COUNTRY COUNTRY_RESIDENTIAL
            RESIDENTIAL BODY BINARY SCREENSHOT TARGET_HEADERS TARGET_COOKIES FINAL_URL
        }

        impl From<$from::Content> for $to::Content {
            fn from(content: $from::Content) -> Self {
                match content {
                    $from::Content::Reply => Self::Reply,
                    $from::Content::Bytes(bytes) => Self::Bytes(bytes),
                    $from::Content::Text(text) => Self::Text(text),
                }
            }
        }

        impl From<$from::Exchange> for $to::Exchange {
            fn from(exchange: $from::Exchange) -> Self {
                Self {
                    request: exchange.request.into(),
                    delay_ms: exchange.delay_ms,
                    memo: exchange.memo,
                    on_cancel: exchange.on_cancel.map(Into::into),
                }
            }
        }
    };
    (@flags $from:ident $to:ident $name:ident: $($flag:ident)*) => {
        impl From<$from::$name> for $to::$name {
            fn from(flags: $from::$name) -> Self {
                // One that is missing here does not compile.
                const N_FLAGS: usize = $crate::provider::$name::NAMED.len();
                let pairs: [($from::$name, Self); N_FLAGS] =
                    [$(($from::$name::$flag, Self::$flag)),*];
                let among = pairs.into_iter().filter(|(flag, _)| flags.contains(*flag));
                among.fold(Self::empty(), |all, (_, flag)| all | flag)
            }
        }
    };
}
